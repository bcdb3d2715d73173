"""The chain as a drawing: places between 0 and 1 become coordinates. Pure layout; a template writes the SVG."""
