"""The command line: parse, call one use-case, hand the result to ``report``."""
