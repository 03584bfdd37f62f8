"""What every working part needs of the machine: children, cancellation, atomic files."""
