"""Steps of many protected units: what a unit holds, which units count, and the publishing decision."""
