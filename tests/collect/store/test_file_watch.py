import contextlib

from closerthan.collect.store.database import FILE, Store
from closerthan.collect.store.file_watch import FileWatch


def test_an_older_copy_over_the_file_is_noticed_and_writing_is_not(tmp_path):
    with Store(tmp_path / FILE) as store:
        store.name_objects(["ant"])
        store.tidy()
        older = store.path.read_bytes()
        with contextlib.closing(FileWatch(store.path)) as watch:
            for part in range(3):
                store.name_objects([f"object {number}" for number in range(500 * part)])
                store.tidy()
                assert watch.is_same
            store.path.write_bytes(older)
            assert not watch.is_same
