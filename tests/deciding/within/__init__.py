"""Steps of several readings, decided."""
