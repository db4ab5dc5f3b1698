"""`kohort completion`: the lines that teach a shell to complete commands, options, and names of the cluster."""

from typing import Final

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

SHELLS: Final[dict[str, type[ShellComplete]]] = {"bash": BashComplete, "zsh": ZshComplete, "fish": FishComplete}
EXAMPLES = """\b
Examples:
  source <(kohort completion bash)                                   # now; in ~/.bashrc for ever
  kohort completion zsh > "${fpath[1]}/_kohort"
  kohort completion fish > ~/.config/fish/completions/kohort.fish
"""


@click.command(epilog=EXAMPLES)
@click.argument("shell", type=click.Choice(list(SHELLS)))
def completion(*, shell: str) -> None:
    """Print what a shell needs to complete commands, options, and names of queues, jobs and priority classes."""
    click.echo(script(shell, "kohort"))


def script(shell: str, program: str) -> str:
    """The lines for a shell, for the program of that name."""
    found = SHELLS[shell](click.Command(program), {}, program, f"_{program.replace('-', '_')}_COMPLETE".upper())
    # The lines themselves, not `source()`: that runs a bash to learn its version, and fails where there is none.
    return found.source_template % found.source_vars()
