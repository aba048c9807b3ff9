from studies import answer_all, interview_of, joined

from closerthan.collect.store.access import Access
from closerthan.collect.store.keyed_codes import pilot_ticket
from closerthan.collect.store.participants import forget
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


def pairs(store, query):
    return [tuple(row) for row in store.rows(query)]


def counted(store):
    """Count the answers anew, as (totals, minutes, response times)."""
    return (
        dict(pairs(store, "SELECT kind || said, count(*) FROM counted_answers GROUP BY kind, said")),
        dict(pairs(store, "SELECT minute, count(*) FROM counted_answers GROUP BY minute")),
        dict(pairs(store, "SELECT hundredths, count(*) FROM counted_answers GROUP BY hundredths")),
    )


def tallied(store):
    return (
        dict(pairs(store, "SELECT kind || said, number FROM totals WHERE number")),
        dict(pairs(store, "SELECT minute, answers + practice FROM minutes WHERE answers + practice")),
        dict(pairs(store, "SELECT hundredths, number FROM response_times WHERE number")),
    )


def test_totals_are_those_of_the_answers_whoever_answers_withdraws_or_is_forgotten(tmp_path):
    now = [10_000.0]

    def clock():
        now[0] += 7
        return now[0]

    access = Access(tmp_path)
    interview, store = interview_of(tmp_path, clock=clock, skip=True)
    interview._key = access.key
    for name in "abcd":
        joined(interview, name * 32)
        answer_all(interview, name * 32, choose=lambda question: "skip" if question["place"] == 5 else 1)
        assert tallied(store) == counted(store)
    joined(interview, "p" * 32, pilot=pilot_ticket(access.key))
    answer_all(interview, "p" * 32)
    assert tallied(store) == counted(store)
    before = progress(store, now[0])
    assert (before.answers, before.pilots, before.kinds["practice"]) == (80, 1, 8)
    interview.withdraw("b" * 32)
    forget(store, access, access.pseudonym(1, None))
    forget(store, access, access.pseudonym(5, None))  # the pilot
    assert tallied(store) == counted(store)
    after = progress(store, now[0])
    assert (after.answers, after.skipped, after.pilots) == (40, 2, 0)
    store.close()
