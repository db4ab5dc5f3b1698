"""What is served and how it is stored: resource catalog, strategies, server-set metadata, store writer."""
