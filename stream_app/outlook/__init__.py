"""What a policy will cost, before there are any data: noise, error and temporal loss of each scheme."""
