"""Histories: seeded lists of steps, with laws checked after each; a history that fails is shrunk to few steps."""

from __future__ import annotations

import random
import shutil
import traceback
from dataclasses import dataclass
from pathlib import Path

from tests.simulation import disk, laws, place_laws, write_laws
from tests.simulation.cleaner import compact, wait
from tests.simulation.damage import DAMAGES
from tests.simulation.laws import READ_LAWS, Law, Scene
from tests.simulation.partition import STEPS, Partition
from tests.simulation.place_laws import PLACE_LAWS
from tests.simulation.truth import no_warnings
from tests.simulation.write_laws import WRITE_LAWS

LAWS: dict[Law, int] = {**READ_LAWS, **WRITE_LAWS, **PLACE_LAWS}
BROKER = {**STEPS, "compact": (compact, 3), "wait": (wait, 1)}
#: Laws that name the files of segments.
OF_FILES = (laws.decode, laws.validate, laws.batches, laws.segment_records, write_laws.salvage, write_laws.convert, place_laws.tiered)
ACTIONS = {**BROKER, **DAMAGES}


@dataclass(frozen=True)
class Step:
    """A step, the seed of its random numbers, and the laws that are checked after it, each with a seed."""

    action: str
    seed: int
    laws: tuple[tuple[Law, int], ...]


@dataclass(frozen=True)
class Failure:
    """A law that does not hold after the last of some steps."""

    seed: int
    steps: tuple[Step, ...]
    law: str
    text: str
    path: Path

    @property
    def line(self) -> str:
        return f"seed={self.seed} step={len(self.steps)} law={self.law} path={self.path}"


def steps_of(seed: int) -> list[Step]:
    """Return the steps of a history."""
    chance = random.Random(seed)
    names = ["append", *_drawn(BROKER, chance, chance.choice([1, 2, 4, 8, 12]))]
    if chance.random() < 0.6:
        names += _drawn(DAMAGES, chance, chance.choice([1, 1, 1, 2, 3]))
    steps = []
    for place, name in enumerate(names):
        number = 4 if place == len(names) - 1 else chance.choice([0, 0, 1])
        laws = chance.choices(list(LAWS), list(LAWS.values()), k=number)
        steps.append(Step(name, chance.getrandbits(32), tuple((law, chance.getrandbits(32)) for law in laws)))
    return steps


def _drawn(actions: dict[str, tuple[object, int]], chance: random.Random, number: int) -> list[str]:
    return chance.choices(list(actions), [weight for _, weight in actions.values()], k=number)


def run(seed: int, root: Path) -> Failure | None:
    """Run a history in an empty directory, which is kept, with the shrunk history, if a law does not hold."""
    steps = steps_of(seed)
    found = first_failure(seed, steps, root)
    if found is None:
        return None
    shrunk = shrink(found, root)
    # The directory is left as the shrunk history makes it.
    failure = first_failure(seed, list(shrunk.steps), root) or found
    (root / "failure.txt").write_text(f"{failure.line}\n{described(failure)}\n\n{failure.text}\n")
    return failure


def first_failure(seed: int, steps: list[Step], root: Path) -> Failure | None:
    """Play steps until a law fails; each check has its own directory."""
    partition = Partition(random.Random(seed))
    for place, step in enumerate(steps):
        if partition.layout is not None or (step.action in DAMAGES and any(segment.name != segment.base for segment in partition.segments)):
            continue  # the files have other names now
        if step.action in DAMAGES and "offset" in partition.lies:
            continue  # a search after damage finds no batch whose header contradicts itself
        if step.action in DAMAGES and all(batch.state != "valid" for batch in partition.batches):
            continue
        ACTIONS[step.action][0](partition, random.Random(step.seed))
        partition.forget_false_start()
        if not step.laws:
            continue
        _empty(root)
        directory = disk.write(partition, root / "disk")
        for law, law_seed in step.laws:
            if partition.layout is not None and law in OF_FILES:
                continue
            text = check(law, Scene(partition, directory, root / "scratch", random.Random(law_seed)))
            if text is not None:
                # Earlier checks held: only this one is repeated.
                played = [Step(earlier.action, earlier.seed, ()) for earlier in steps[:place]]
                return Failure(seed, (*played, Step(step.action, step.seed, ((law, law_seed),))), law.__name__, text, root)
    return None


def check(law: Law, scene: Scene) -> str | None:
    """Return the text of what breaks a law, or None."""
    scene.scratch.mkdir(exist_ok=True)
    try:
        with no_warnings():
            law(scene)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a panic of the core is no Exception
        return "".join(traceback.format_exception(error))
    finally:
        shutil.rmtree(scene.scratch)
    return None


def shrink(failure: Failure, root: Path) -> Failure:
    """Remove steps while the same law fails after those that are left."""
    is_smaller = True
    while is_smaller:
        is_smaller = False
        for place in range(len(failure.steps) - 1):
            fewer = [*failure.steps[:place], *failure.steps[place + 1 :]]
            again = first_failure(failure.seed, fewer, root)
            if again is not None and again.law == failure.law:
                failure, is_smaller = again, True
                break
    return failure


def described(failure: Failure) -> str:
    return " ".join(f"{step.action}({step.seed})" for step in failure.steps)


def _empty(root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
