"""Search: moves, rules and strategies. No linear algebra, no model names."""
