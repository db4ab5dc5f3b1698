"""`kohort completion`: completion scripts for commands, options and names of objects."""

from typing import Final

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

SHELLS: Final[dict[str, type[ShellComplete]]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
EXAMPLES = """\b
Examples:
  source <(kohort completion bash)       # for this session; add to ~/.bashrc to persist
  kohort completion zsh > "${fpath[1]}/_kohort"
  kohort completion fish > ~/.config/fish/completions/kohort.fish
"""


@click.command(epilog=EXAMPLES)
@click.argument("shell", type=click.Choice(list(SHELLS)))
def completion(*, shell: str) -> None:
    """Print a completion script for bash, zsh or fish."""
    click.echo(script(shell, "kohort"))


def script(shell: str, program: str) -> str:
    """The completion script of a program for a shell."""
    found = SHELLS[shell](click.Command(program), {}, program, f"_{program.replace('-', '_')}_COMPLETE".upper())
    # Not `source()`: that runs bash to get its version, and fails if it is not installed.
    return found.source_template % found.source_vars()
