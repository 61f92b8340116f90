"""What all sections are made of."""


def markdown(header, rows):
    """A Markdown table as lines; the first column to the left, the rest to the right."""
    align = "|---|" + "--:|" * (len(header) - 1)
    return [f"| {' | '.join(header)} |", align, *(f"| {' | '.join(row)} |" for row in rows)]
