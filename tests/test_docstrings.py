"""Every public kernel, map and solver tells its parameters, and shows itself in an example that runs."""

import re
from inspect import getdoc, signature

import pytest

from kfeat.kernels import KERNELS
from kfeat.maps import MAPS
from kfeat.solvers import SOLVERS

PUBLIC = [*KERNELS.values(), *MAPS.values(), *SOLVERS.values()]


@pytest.mark.parametrize("cls", PUBLIC)
def test_the_parameters_section_names_every_parameter_and_no_other(cls):
    text = getdoc(cls) or ""
    sections = dict(re.findall(r"^(\w+)\n-+\n(.*?)(?=^\w+\n-+\n|\Z)", text, re.M | re.S))
    told = re.findall(r"^(\w[\w, ]*) : ", sections.get("Parameters", ""), re.M)
    assert [name for names in told for name in names.split(", ")] == list(signature(cls).parameters)


@pytest.mark.parametrize("cls", PUBLIC)
def test_there_is_an_example(cls):
    assert "\nExamples\n--------\n>>> " in (getdoc(cls) or "")
