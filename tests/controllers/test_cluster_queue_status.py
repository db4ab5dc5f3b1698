"""What a ClusterQueue says of itself: whether it admits, why not, and what it holds (API-78, API-107 to API-111)."""

from controllers.houses import cluster_queue, flavor, house, is_active


async def test_a_queue_that_names_a_missing_flavor_says_so_until_the_flavor_comes() -> None:
    async with house() as home:
        await home.create(cluster_queue("q"))
        found = await home.until(is_active("False", "FlavorNotFound"), "ClusterQueue", "q")
        assert "f" in found["status"]["conditions"][0]["message"]
        await home.create(flavor("f"))
        await home.until(is_active("True", "Ready"), "ClusterQueue", "q")
