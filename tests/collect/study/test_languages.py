import re

from closerthan.collect.study.languages import TEXTS


def test_all_languages_have_all_texts_with_the_same_placeholders():
    for texts in TEXTS.values():
        assert list(texts) == list(TEXTS["en"])
        for name, text in texts.items():
            assert set(re.findall(r"\{\w+\}", text)) == set(re.findall(r"\{\w+\}", TEXTS["en"][name])), name
