"""Which library each library of a bundle gets: loaders of three systems, as pure functions."""
