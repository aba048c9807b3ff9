"""check_loss reports the first problem of a loss, if there is one."""

import math
import warnings

import pytest

import closerthan as ct
from closerthan.losses import LOSSES, TSTE

ANSWERS = ct.datasets.synthetic(6, 2, 60, 1, seed=0).train


class Base(ct.Loss):
    """ste, to be changed for the worse."""

    scale: float = 1.0

    def value(self, near, far):
        lead = min((far - near) / self.scale, 700.0)
        return math.log(1 + math.exp(lead)) - lead

    def slopes(self, near, far):
        slope = 1 / (1 + math.exp(min((far - near) / self.scale, 700.0))) / self.scale
        return slope, -slope


class ForgottenScale(Base):
    def slopes(self, near, far):
        slope = 1 / (1 + math.exp(min((far - near) / self.scale, 700.0)))
        return slope, -slope


class WrongSign(Base):
    def slopes(self, near, far):
        slope = 1 / (1 + math.exp(min((far - near) / self.scale, 700.0))) / self.scale
        return slope, slope


class OfDistances(Base):
    """Slopes by distances, not by squared ones."""

    def value(self, near, far):
        return max(0.0, math.sqrt(near) - math.sqrt(far) + self.scale)

    def slopes(self, near, far):
        slope = 1.0 if math.sqrt(near) - math.sqrt(far) + self.scale > 0 else 0.0
        return slope, -slope


class Reversed(Base):
    def value(self, near, far):
        return max(0.0, far - near + 1.0)

    def slopes(self, near, far):
        slope = 1.0 if far - near + 1.0 > 0 else 0.0
        return -slope, slope


class Overflowing(Base):
    def value(self, near, far):
        return math.log1p(math.exp(near - far))

    def slopes(self, near, far):
        slope = 1 / (1 + math.exp(far - near))
        return slope, -slope


class NoPlaceAtZero(Base):
    def value(self, near, far):
        return math.log((near + far) / far)

    def slopes(self, near, far):
        return 1 / (near + far), 1 / (near + far) - 1 / far


class NotCompiled(Base):
    def value(self, near, far):
        return max(0.0, math.fsum([near, -far, 1.0]))

    def slopes(self, near, far):
        slope = 1.0 if near - far + 1 > 0 else 0.0
        return slope, -slope


@pytest.mark.slow
@pytest.mark.parametrize("loss", [*LOSSES, TSTE(alpha=1.5), Base, Base(scale=3.0)], ids=str)
def test_good_losses_pass(loss):
    ct.check_loss(loss)


@pytest.mark.parametrize(
    ("loss", "sentence"),
    [
        (ForgottenScale(scale=2.0), "ForgottenScale: at near = .* the slope in near is .*, but the value changes by"),
        (WrongSign(), "the slope in far is .*, but the value changes by -"),
        (OfDistances(), "the slope in near is 1, but the value changes by"),
        (Reversed(), "the value falls as near grows; it must be large where the near pair is farther apart"),
        (Overflowing(), r"slopes\(0, 10000\) is not a finite number; .* limit large values"),
        (NoPlaceAtZero(), r"value\(0, 0\) is not a finite number; squared distances can be 0"),
    ],
    ids=lambda one: type(one).__name__ if isinstance(one, ct.Loss) else "",
)
def test_problems_of_a_loss_are_named(loss, sentence):
    with pytest.raises(ValueError, match=sentence):
        ct.check_loss(loss)


def test_code_that_cannot_be_compiled_is_reported():
    with pytest.raises(Exception, match="NotCompiled") as error:
        ct.check_loss(NotCompiled)
    assert "compile" in str(error.value)


@pytest.mark.slow
def test_embed_warns_once_of_slopes_that_do_not_match():
    class New(ForgottenScale):
        """A class that no other test has fitted with."""

    with pytest.warns(UserWarning, match=r"loss New: at near .* closerthan\.check_loss") as warned:
        ct.embed(ANSWERS, loss=New(scale=2.0), penalty=0, solver="batch", seed=0, epochs=1)
    assert warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ct.embed(ANSWERS, loss=New(scale=2.0), penalty=0, solver="batch", seed=0, epochs=1)


def test_embed_does_not_warn_of_good_losses():
    for loss in ("ste", "soe", Base(), Base(scale=3.0)):
        ct.embed(ANSWERS, loss=loss, penalty=0, solver="batch", seed=0, epochs=1)  # warnings are errors here
