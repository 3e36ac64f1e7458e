"""Privacy loss beyond one series' sum: temporal loss under Markov adversaries."""
