"""Which rules hit which lines: accelerated scan, then per-line confirmation."""
