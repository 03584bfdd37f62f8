"""Looking at files without judging them."""
