"""Writes tables into pages, between two comments."""


def write_table(page, name, lines):
    """Replaces the table between `<!-- name -->` and `<!-- end of name -->`."""
    start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    text = page.read_text()
    before, rest = text.split(start)
    after = rest.split(end)[1]
    page.write_text(f"{before}{start}\n" + "\n".join(lines) + f"\n\n{end}{after}")
