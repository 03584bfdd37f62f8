"""What people and programs see. Only ``cli`` knows this package."""
