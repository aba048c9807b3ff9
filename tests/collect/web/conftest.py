import pytest
from chromium import Chromium, find_chromium


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    chromium = Chromium(find_chromium(), tmp_path_factory.mktemp("profile"))
    yield chromium
    chromium.close()


@pytest.fixture
def browser(chromium):
    yield chromium
    chromium.connection(on=True)
    chromium.phone(on=False)
    chromium.call("Page.navigate", url="about:blank")
