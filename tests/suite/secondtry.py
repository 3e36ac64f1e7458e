"""A second try for tests with a broker or processes: a loaded machine may fail them once by chance.

Everything that fixtures set up is torn down first, so a broker that died is replaced. The names of such tests are
printed at the end of a run, with what failed; more than `ALLOWED` of them make the run fail. A pure test has one try.
"""

from typing import Any, Final

import pytest
from _pytest.runner import runtestprotocol

ALLOWED: Final = 2
"""How many tests of a run may need their second try."""
_MAY: Final = ("broker", "process", "program")
_FAILED_ONCE: Final = pytest.StashKey[bool]()
_OUTCOME: Final[Any] = "rerun"  # of any type, as pytest's own knows three outcomes
"""The name used by pytest-rerunfailures, which other programs know."""


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test, and again, including its fixtures, if it failed; None leaves it to pytest."""
    if _FAILED_ONCE in item.stash or not any(map(item.get_closest_marker, _MAY)):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    failed = [report for report in reports if report.failed]
    for report in failed:
        report.outcome = _OUTCOME
    for report in failed or reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    if failed:
        item.stash[_FAILED_ONCE] = True
        _tear_down(item.session)
        # The whole hook, so that its time limit begins again.
        item.ihook.pytest_runtest_protocol(item=item, nextitem=nextitem)
    return True


def _tear_down(session: pytest.Session) -> None:
    try:
        session._setupstate.teardown_exact(None)  # noqa: SLF001 - pytest has no public name for it
    except Exception as error:  # noqa: BLE001 - what fails there failed with the first try
        session.config.issue_config_time_warning(pytest.PytestWarning(f"torn down for a second try: {error!r}"), 2)


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    """Count failed first tries separately from failures."""
    return (_OUTCOME, "R", "RERUN") if report.outcome == _OUTCOME else None


def _tried_again(config: pytest.Config) -> list[pytest.TestReport]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return [] if reporter is None else list(reporter.stats.get(_OUTCOME, ()))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail a run in which too many tests needed a second try."""
    if len({report.nodeid for report in _tried_again(session.config)}) > ALLOWED:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print what failed first, and the names, at the end."""
    if not (found := _tried_again(config)):
        return
    terminalreporter.section("first tries that failed")
    for report in found:
        terminalreporter.section(f"{report.nodeid} ({report.when})", "-")
        terminalreporter.line(report.longreprtext)
    names = sorted({report.nodeid for report in found})
    terminalreporter.section(f"tests that needed a second try: {len(names)}, {ALLOWED} are allowed")
    for name in names:
        terminalreporter.line(f"AGAIN {name}")
