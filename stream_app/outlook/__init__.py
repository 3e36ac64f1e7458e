"""What a policy will cost, before any data exist: noise, error and temporal loss of each scheme."""
