from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vvbuild.model.digest import Digest
from vvbuild.pipeline.step import Facts, PlanBuilder, StepContext

PARAMETERS = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        ),
        max_leaves=6,
    ),
    max_size=5,
)


def nothing(context: StepContext) -> Facts:
    return {}


def key(parameters: dict[str, object] | None = None, **options: object) -> Digest:
    builder = PlanBuilder()
    builder.add("source", nothing, parameters=options.pop("source", None))
    builder.add("other", nothing)
    name = builder.add(options.pop("name", "step"), nothing, parameters=parameters, **options)
    return builder.steps[name].key


@given(PARAMETERS, st.randoms())
def test_the_order_of_parameters_does_not_make_another_step(
    parameters: dict[str, object], random
) -> None:
    items = list(parameters.items())
    random.shuffle(items)

    assert key(dict(items)) == key(parameters)


@given(PARAMETERS, PARAMETERS)
def test_other_parameters_make_another_step(one: dict[str, object], two: dict[str, object]) -> None:
    # Equal as JSON: 1 and True are equal in Python and not there.
    same = json.dumps(one, sort_keys=True) == json.dumps(two, sort_keys=True)

    assert (key(one) == key(two)) == same


def test_whatever_can_change_the_result_makes_another_step() -> None:
    keys = [
        key(),
        key({"a": 1}),
        key({"a": "1"}),
        key(name="renamed"),
        key(inputs=("source",)),
        key(inputs=("other",)),
        key(inputs=("source", "other")),
        key(inputs=("source",), source={"x": 1}),
        key(code=("vvbuild.model.size",)),
        key(code=("vvbuild.model.digest",)),
    ]

    assert len(set(keys)) == len(keys)


def test_what_is_only_told_to_people_does_not() -> None:
    assert key(why="because", download=9) == key()


def test_two_steps_of_one_name_are_a_mistake() -> None:
    builder = PlanBuilder()
    builder.add("a", nothing)

    with pytest.raises(ValueError, match="two steps are called 'a'"):
        builder.add("a", nothing)


def test_an_input_must_stand_before_its_step() -> None:
    with pytest.raises(KeyError):
        PlanBuilder().add("a", nothing, inputs=("b",))


def test_a_plan_finds_its_steps() -> None:
    builder = PlanBuilder()
    builder.add("a", nothing, why="x", download=3)
    plan = builder.plan("a")

    assert plan.step("a").download == 3
    assert plan.goals == ("a",)
