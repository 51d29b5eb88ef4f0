"""The score of the zoo, as a line at the end of a test session: workers tell, the one that reports adds up."""

PROPERTY = "zoo"


def note(request, kind: str, name: str, caught: bool) -> None:
    """Of the test that is running."""
    request.node.user_properties.append((PROPERTY, (kind, name, caught)))


def pytest_terminal_summary(terminalreporter) -> None:
    seen: dict[str, list[tuple[str, bool]]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "call":
                for key, (kind, name, caught) in (p for p in report.user_properties if p[0] == PROPERTY):
                    assert key == PROPERTY
                    seen.setdefault(kind, []).append((name, caught))
    for kind, results in sorted(seen.items()):
        past = sorted(name for name, caught in results if not caught)
        line = f"zoo, {kind}: {len(results) - len(past)} of {len(results)} caught"
        terminalreporter.write_line(line + (f"; past: {', '.join(past)}" if past else ""))
