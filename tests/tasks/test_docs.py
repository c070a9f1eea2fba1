"""The page about the tasks agrees with the tasks."""

import inspect
import re
from pathlib import Path

import pytest
from prefect import Flow, Task

from automl_tasks import data, models, preprocessing

PAGE = (Path(__file__).parents[2] / "docs" / "tasks.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("module", [data, preprocessing, models], ids=lambda m: m.__name__)
def test_every_task_is_on_the_page(module):
    listed = set(re.findall(r"`(\w+)[(`]", PAGE))
    tasks = {name for name, value in vars(module).items() if isinstance(value, Task)}
    assert tasks <= listed


@pytest.mark.parametrize(
    ("name", "arguments"), re.findall(r"^\| `(\w+)\((.*?)\)` \|", PAGE, re.MULTILINE)
)
def test_a_row_of_the_page_has_the_arguments_of_the_task(name, arguments):
    task = next(vars(each)[name] for each in (data, preprocessing, models) if name in vars(each))
    signature = inspect.signature(task.fn)
    plain = [each.replace(annotation=each.empty) for each in signature.parameters.values()]
    actual = str(inspect.Signature(plain)).strip("()").replace("'", '"')
    begin, _, _ = arguments.partition("…")
    assert actual.startswith(begin) if "…" in arguments else actual == arguments


def test_the_example_defines_a_flow():
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (example,) = (block for block in blocks if "compare_three" in block)
    names = {"__name__": "example"}
    exec(compile(example, "docs/tasks.md", "exec"), names)
    assert isinstance(names["compare_three"], Flow)
