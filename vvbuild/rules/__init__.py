"""Named checks over evidence. A rule does no I/O: it reads facts and yields findings."""
