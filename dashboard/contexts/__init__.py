"""What each page is given: frozen, typed, documented field by field. HTML and JSON twin are made from the same value.

A context holds values and words, no markup and no addresses: templates make links from identifiers. Log lines stand in
it as they were written; whoever renders a context escapes them. Times are RFC 3339 UTC texts, durations are seconds.
"""
