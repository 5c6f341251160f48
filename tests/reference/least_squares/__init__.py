"""Linear and discriminant models: the projection, the problem, its criteria and its tests."""
