from studies import answer_all, interview_of, joined

from closerthan.collect.store.progress import progress


def test_progress_counts_people_answers_and_dropouts(tmp_path):
    now = [10_000.0]
    interview, store = interview_of(tmp_path, clock=lambda: now[0], skip=True)
    joined(interview, "a" * 32)
    answer_all(interview, "a" * 32, choose=lambda question: "skip" if question["place"] == 5 else 1)
    joined(interview, "b" * 32)
    now[0] += 4000
    joined(interview, "c" * 32)
    interview.decline("d" * 32)
    counts = progress(store, now[0])
    names = ("started", "finished", "running", "dropped", "declined", "answers", "skipped", "last_hour", "median_ms")
    assert [getattr(counts, name) for name in names] == [3, 1, 1, 1, 1, 20, 1, 0, 500]
    assert sum(counts.by_hour) == 22
    assert counts.kinds["practice"] == 2
    store.close()
