"""The commands for any network: sample, infer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import scipy.sparse as sp
import typer
from numpy.typing import NDArray

from pgbn.cli.console import Result, give, interruptible, output, output_file, wrong_usage
from pgbn.cli.options import RUNNING, SAMPLING, Minutes, Seed, Threads, one_of
from pgbn.errors import DataError, StorageError, did_you_mean, notify
from pgbn.storage.archive import is_archive, read_manifest
from pgbn.storage.tables import Numbers, read_numbers
from pgbn.storage.texts import text_lines
from pgbn.storage.writing import writing

if TYPE_CHECKING:
    from pgbn.engine.rows.new_rows import NewRows
    from pgbn.engine.run.draws import Draws
    from pgbn.network.network import Network
    from pgbn.samplers.on_ray import Ray


# ---- files for the data of a network: ``counts.mtx``, or ``x=counts.mtx`` of several nodes -------

Labels = dict[str, list[str]]  # of each dim


def files_of(
    words: Sequence[str],
    observed: Sequence[str],
    categories: Iterable[str] = (),
    some: bool = False,
) -> dict[str, Path]:
    """The file of every observed node (with ``some``, of the given ones), and of the numbers of
    categories, which the network may have already."""
    found: dict[str, Path] = {}
    known = (*observed, *categories)
    for word in words:
        name, sign, file = word.partition("=")
        if name not in known or not sign:
            if len(observed) > 1 or (sign and not Path(word).exists()):
                shown = " ".join(f"{each}=FILE" for each in known)
                raise DataError(
                    f"{word!r} names no observed node.{did_you_mean(name, known)} Give {shown}"
                )
            name, file = observed[0], word
        if name in found:
            raise DataError(f"{word!r}: there is a file of {name!r} already; give one")
        found[name] = Path(file)
    missing = [name for name in observed if name not in found]
    if missing and not (some and len(missing) < len(observed)):
        raise DataError(f"no data of {missing[0]!r}; give {missing[0]}=FILE")
    return found


def dims_of(network: Network, name: str) -> tuple[str, ...]:
    """The dims of the data of a node, or of the numbers of categories."""
    known = network.categories.get(name)
    return network[name].axes if known is None else known.dims


def read_nodes(network: Network, files: Mapping[str, Path]) -> dict[str, Numbers]:
    """The numbers of every node; those of a node of one dim may be a single column."""
    return {name: _fitted(read_numbers(file, rows=(*dims_of(network, name), "")[0]),
                          len(dims_of(network, name)))
            for name, file in files.items()}  # fmt: skip


def _fitted(numbers: Numbers, dims: int) -> Numbers:
    values = numbers.values
    if dims != 1 or values.ndim != 2 or values.shape[1] != 1:
        return numbers
    return Numbers((values.toarray() if sp.issparse(values) else values)[:, 0], numbers.rows)


def data_labels(network: Network, read: Mapping[str, Numbers]) -> Labels:
    """The names along dims that the files have."""
    out: Labels = {}
    for name, numbers in read.items():
        axes = dims_of(network, name)
        if np.ndim(numbers.values) != len(axes):
            continue  # rejected with the data, by the network
        for dim, labels in ((axes[:1], numbers.rows), (axes[1:2], numbers.columns)):
            if dim and labels is not None and out.setdefault(dim[0], labels) != labels:
                raise DataError(
                    f"{name}: the names along {dim[0]!r} are not those of the other data; bring "
                    "them into one order"
                )
    return out


def read_labels(words: Iterable[str], network: Network) -> Labels:
    """From ``term=words.txt``, one name on each line, to the names along dims."""
    from pgbn.engine.data.reading import check_coords

    out: Labels = {}
    for word in words:
        dim, sign, file = word.partition("=")
        if not sign or not file:
            raise DataError(
                f"{word!r}: give DIM=FILE, such as {(*network.dims, 'dim')[0]}=names.txt"
            )
        if dim not in network.dims:
            raise DataError(f"{word!r}: no node has this dim.{did_you_mean(dim, network.dims)}")
        try:
            out[dim] = list(text_lines(Path(file)))
        except (OSError, EOFError, UnicodeError) as error:
            raise DataError(f"{word!r}: cannot be read ({error})") from None
    check_coords(network, out, network.sizes)
    return out


def in_run_order(
    name: str, numbers: Numbers, axes: Sequence[str], plate: str, coords: Mapping[str, Any]
) -> Any:
    """New rows of a node in the order of the run along the other dim: columns are matched by name
    if both the file and the run have names."""
    from pgbn.training.new_rows import align_terms, amount

    for dim, labels in zip(axes, (numbers.rows, numbers.columns), strict=False):
        if dim == plate or labels is None or dim not in coords:
            continue
        known = list(map(str, coords[dim]))
        if labels == known:
            continue
        if dim == axes[0]:
            raise DataError(f"{name}: the names along {dim!r} are not those of the run; bring them "
                            "into its order")  # fmt: skip
        matrix, columns, total = align_terms(numbers.values, len(known), labels, known, name)
        if columns:
            notify(f"{name}: {columns} of {dim!r} with {amount(total)} that the run does not have "
                   "were dropped")  # fmt: skip
        return matrix
    return numbers.values


# ---- the option --ray: rows on workers of Ray ---------------------------------------------------

SPREAD = "partial"  # the sampler of counts whose rows can be spread
Spread = Annotated[str | None, typer.Option(
    "--ray", metavar="N|ADDRESS", show_default=False, rich_help_panel=RUNNING,
    help="Use N processes of Ray, or all cores of the cluster at an address (auto: the one of this "
    "machine). Counts are then sampled by 'partial'.")]  # fmt: skip


def spread_over(ray: str | None, threads: int | None) -> Ray | None:
    """The workers that ``--ray`` asks for."""
    if ray is None:
        return None
    from pgbn.samplers.on_ray import Ray

    if threads is not None:
        raise DataError(f"--threads {threads}, --ray {ray}: give one of them")
    return Ray(workers=int(ray)) if ray.isascii() and ray.isdigit() else Ray(address=ray)


# ---- the commands -------------------------------------------------------------------------------

Files = Annotated[list[str], typer.Argument(
    metavar="[NODE=]FILE...", show_default=False, help="Numbers in a .csv, .tsv, .npy, .npz, .mtx "
    "or .svmlight file. Give NODE=FILE for each observed node if there are several.")]  # fmt: skip


def _samplers() -> Iterable[str]:
    from pgbn.engine.first_layer.choice import sampler_names

    return ("auto", *sampler_names(), "composed", "general")


def sample_command(
    network: Annotated[Path, typer.Argument(
        metavar="NETWORK", help="A network in a JSON file, or in a folder.", show_default=False)],
    data: Files,
    to: Annotated[Path, typer.Option(
        "--output", "-o", metavar="FOLDER", help="The folder for the run.", show_default=False)],
    *,
    burn_in: Annotated[int, typer.Option(
        min=0, metavar="N", rich_help_panel=SAMPLING, help="Sweeps before draws are kept.",
    )] = 1000,
    draws: Annotated[int, typer.Option(
        min=1, metavar="N", rich_help_panel=SAMPLING, help="Draws that each chain keeps.")] = 500,
    thin: Annotated[int, typer.Option(
        min=1, metavar="N", rich_help_panel=SAMPLING, help="Keep every Nth sweep.")] = 1,
    chains: Annotated[int, typer.Option(
        min=1, metavar="N", rich_help_panel=SAMPLING, help="The number of chains.")] = 1,
    parallel: Annotated[int, typer.Option(
        min=1, metavar="N", rich_help_panel=RUNNING, help="Chains that run at the same time.",
    )] = 1,
    keep: Annotated[str | None, typer.Option(
        metavar="NODE[,NODE…]", rich_help_panel=SAMPLING, show_default=False,
        help="The nodes whose draws are kept (phi,theta); by default all latent ones.")] = None,
    sampler: Annotated[str, typer.Option(
        callback=one_of(table=_samplers), metavar="NAME", rich_help_panel=SAMPLING,
        help="How the counts of the first layer are drawn, see Network.chain.")] = "auto",
    coords: Annotated[list[str] | None, typer.Option(
        metavar="DIM=FILE", show_default=False,
        help="A file with the names along a dim, one on each line. May be given several times.",
    )] = None,
    seed: Seed = 0,
    threads: Threads = None,
    ray: Spread = None,
    minutes: Minutes = 5.0,
) -> None:  # fmt: skip
    """Sample from the posterior of any network.

    Checkpoints are written regularly. Ctrl-C and SIGTERM save and stop; pgbn resume continues. The
    JSON file has the text of net.to_json().

    Examples:

      pgbn sample network.json counts.mtx -o run --chains 4 --parallel 4

      pgbn sample network.json x=words.npz y=labels.csv -o run --keep phi,beta

      pgbn sample network.json counts.mtx author=authors.csv -o run
    """
    from pgbn.cli.models import read_network
    from pgbn.engine.run.chain_files import RUN
    from pgbn.engine.run.sampling import read_keep

    if is_archive(to):
        hint = f"pgbn resume {to}" if read_manifest(to)["kind"] == RUN else "another folder"
        raise StorageError(f"{to}: there is something saved already; use {hint}")
    net = read_network(network)
    with wrong_usage("DATA"):
        files = files_of(data, net.observed, net.categories)
    names = None if keep is None else [name.strip() for name in keep.split(",")]
    with wrong_usage("--keep"):
        read_keep(net, names)
    with wrong_usage("--coords"):
        given = read_labels(coords or (), net)
    with wrong_usage("--ray"):
        executor = spread_over(ray, threads)
    with writing(to):  # fail before the data are read if the folder cannot be written
        read = read_nodes(net, files)
        with interruptible():
            result = net.sample(
                {name: each.values for name, each in read.items()}, burn_in, draws, thin, chains,
                seed, names, sampler=sampler, threads=threads, executor=executor,
                coords=data_labels(net, read) | given, parallel=parallel, save=to, minutes=minutes,
            )  # fmt: skip
    show_run(to, result)


def show_run(folder: Path, draws: Draws) -> None:
    """The draws that a finished run has kept."""
    output.result(
        {"run": str(folder), "nodes": list(draws)},
        lambda: output.say(f"{draws}\nnext: pgbn report {folder}"),
    )


def infer_command(
    run: Annotated[Path, typer.Argument(
        metavar="RUN", help="The folder of a run.", show_default=False)],
    data: Files,
    *,
    to: Annotated[Path | None, output_file(
        "The file for the result", ".csv", ".json", ".npz")] = None,
    nodes: Annotated[str | None, typer.Option(
        metavar="NODE[,NODE…]", show_default=False,
        help="Nodes to report, e.g. theta,c; by default all nodes of the rows.")] = None,
    rows: Annotated[str | None, typer.Option(
        metavar="DIM", show_default=False,
        help="The dim of the new rows; by default the first one of the data.")] = None,
    chain: Annotated[str, typer.Option(
        metavar="N|all", rich_help_panel=SAMPLING,
        help="The chain whose draws are used, from 0, or all.")] = "0",
    burn_in: Annotated[int, typer.Option(
        min=0, metavar="N", rich_help_panel=SAMPLING, help="Sweeps before draws are taken.",
    )] = 200,
    draws: Annotated[int, typer.Option(
        min=1, metavar="N", rich_help_panel=SAMPLING,
        help="Draws for each row, at least; each draw of the run gives one or more.")] = 200,
    seed: Seed = 0,
    threads: Threads = None,
) -> None:  # fmt: skip
    """Infer the latent variables of new rows.

    Means and standard deviations are written. Nodes that the rows share, such as topics, are fixed
    at the draws of the run, one after another. The draws of one chain are used by default, since a
    topic has another number in another chain. Data of some observed nodes may be missing; numbers
    of categories (author=FILE) are required.

    Example:

      pgbn infer run new.mtx --nodes theta -o rows.csv
    """
    from pgbn.cli.models import open_draws
    from pgbn.engine.rows.independent import along_rows, row_network

    found, network = open_draws(run)
    plate = (*network[network.observed[0]].axes, "")[0] if rows is None else rows
    if plate not in network.dims:
        raise typer.BadParameter(f"--rows {plate}: no node has this dim."
                                 f"{did_you_mean(plate, network.dims)}")  # fmt: skip
    local = row_network(network, plate)
    wanted = None if nodes is None else [name.strip() for name in nodes.split(",")]
    for name in wanted or ():
        if name not in local.free:
            raise typer.BadParameter(f"--nodes: {name!r} does not belong to the rows."
                                     f"{did_you_mean(name, local.free)}")  # fmt: skip
    with wrong_usage("DATA"):
        files = files_of(data, local.observed, along_rows(local, plate), some=True)
    given = _given(run, found, local.given, chain)
    read = read_nodes(local, files)
    values = {name: in_run_order(name, each, dims_of(local, name), plate, found.coords)
              for name, each in read.items()}  # fmt: skip
    result = network.infer(values, given, plate, burn_in, draws, seed, wanted, threads=threads)
    columns, table = _flat(result, plate, found.coords)
    labels = data_labels(local, read).get(plate) or [str(row) for row in range(len(table))]
    arrays = {name: result[name] for name in result}
    arrays |= {f"{name}_sd": result.sd[name] for name in result}
    every = list(zip(labels, table.tolist(), strict=True))
    give(Result(
        {"columns": columns, "rows": [{"name": name, "values": row} for name, row in every]},
        (plate, *columns),
        [(name, *row) for name, row in every],
        arrays={**arrays, f"{plate}_names": np.array(labels)},
        facts={"rows": len(labels), "nodes": list(result)},
        said=f"{len(labels)} rows of {', '.join(result)}",
    ), to)  # fmt: skip


def _given(run: Path, draws: Draws, needed: Iterable[str], chain: str) -> dict[str, NDArray[Any]]:
    """The draws of the nodes on which new rows depend, of one chain or of all."""
    given: dict[str, NDArray[Any]] = {}
    for name in needed:
        if name not in draws and len(draws.given.get(name, ())) == 1:
            given[name] = draws.given_value(name)  # one for all draws
            continue
        if name not in draws and name not in draws.given:
            raise DataError(
                f"{run}: no draws of {name!r}, on which new rows depend; sample with "
                f"--keep {','.join(needed)}"
            )
        value = draws[name] if name in draws else draws.given_value(name)
        if not value.shape[1]:
            raise DataError(f"{run}: there are no draws so far; continue with pgbn resume {run}")
        numbers = [str(number) for number in range(len(value))]
        if chain not in (*numbers, "all"):
            raise typer.BadParameter(f"--chain {chain}: the run has the chains "
                                     f"{', '.join(numbers)}; give one of them, or all")  # fmt: skip
        given[name] = value if chain == "all" else value[int(chain)]
    return given


def _flat(
    result: NewRows, plate: str, coords: Mapping[str, list[Any]]
) -> tuple[list[str], NDArray[Any]]:
    """All means and standard deviations with a line for each row: theta[0], …, theta_sd[0], …"""
    columns, parts = [], []
    for name in result:
        dims = list(result.dims[name])
        axis = dims.index(plate)
        dims.remove(plate)
        for title, array in ((name, result[name]), (f"{name}_sd", result.sd[name])):
            each = np.moveaxis(array, axis, 0)
            places = [coords.get(d, range(n)) for d, n in zip(dims, each.shape[1:], strict=True)]
            columns += [
                f"{title}[{','.join(map(str, place))}]" if dims else title
                for place in product(*places)
            ]
            parts.append(each.reshape(len(each), -1))
    return columns, np.concatenate(parts, axis=1)
