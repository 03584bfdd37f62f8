"""Starting a finished bundle and seeing that it speaks, cancels and stops."""
