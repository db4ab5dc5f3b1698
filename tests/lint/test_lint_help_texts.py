import click

from lint.help_texts import help_faults, summary_faults


def command(summary: str, *options: click.Option) -> click.Command:
    return click.Command("fits", help=summary, params=list(options))


def test_a_summary_starts_with_an_imperative_verb() -> None:
    assert summary_faults("kohort fits", "Whether a job fits") == [
        "kohort fits: the summary must start with an imperative verb: 'Whether a job fits'"
    ]


def test_a_summary_has_no_final_period() -> None:
    assert summary_faults("kohort fits", "Check whether a job fits.") == [
        "kohort fits: the summary must not end with a period: 'Check whether a job fits.'"
    ]


def test_an_option_needs_a_help_text() -> None:
    documented, bare = click.Option(["--queue"], help="LocalQueue."), click.Option(["--state"])
    found = help_faults("kohort fits", command("Check whether a job fits", documented, bare))
    assert list(found) == ["kohort fits --state: the option has no help text"]


def test_commands_of_a_group_are_checked_too() -> None:
    group = click.Group("kohort", help="Queue jobs", commands=[command("Whether a job fits")])
    assert list(help_faults("kohort", group)) == [
        "kohort fits: the summary must start with an imperative verb: 'Whether a job fits'"
    ]


def test_good_help_has_no_faults() -> None:
    assert list(help_faults("kohort fits", command("Check whether a job fits\n\nMore text."))) == []
