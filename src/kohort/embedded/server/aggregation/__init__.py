"""API aggregation: APIServices, the availability of their backends, and the front-proxy identity."""
