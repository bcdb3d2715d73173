"""Statistics over many verdicts: pure functions over rows. ``method.METHOD`` says in sentences what they decide by."""
