#!/usr/bin/python3
"""A BitTorrent swarm of the machines of one cluster, with libtorrent as most clients have it.

torrent.py make SOURCE TORRENT
    writes the file TORRENT that describes SOURCE
torrent.py share TORRENT FOLDER NAME PORT ADDRESS DONE COUNT PEER..
    has or fetches TORRENT's file as FOLDER/NAME, gives it to others, and ends when COUNT machines
    have it. Each says so by a file in the directory DONE. PEERs are the others' addresses, which a
    tracker would tell.
"""

import os
import sys
import time

import libtorrent

PIECE = 1 << 20
"""Bytes of a piece, the unit that is hashed and passed on."""

LOOKS_EVERY = 0.02
"""Seconds between two looks at what the others have."""


def make(source: str, torrent: str) -> None:
    files = libtorrent.file_storage()
    libtorrent.add_files(files, source)
    described = libtorrent.create_torrent(files, PIECE)
    libtorrent.set_piece_hashes(described, os.path.dirname(source))
    with open(torrent, "wb") as file:
        file.write(libtorrent.bencode(described.generate()))


def share(torrent, folder, name, port, address, done, count, peers) -> None:
    session = libtorrent.session(
        {
            "listen_interfaces": f"{address}:{port}",
            "outgoing_interfaces": address,
            "enable_dht": False,
            "enable_lsd": False,
            "enable_upnp": False,
            "enable_natpmp": False,
            # TCP only, as on a cluster's own network; everybody may fetch from everybody.
            "enable_outgoing_utp": False,
            "enable_incoming_utp": False,
            "unchoke_slots_limit": -1,
            "connections_limit": 1000,
        }
    )
    parameters = libtorrent.add_torrent_params()
    parameters.ti = libtorrent.torrent_info(torrent)
    parameters.ti.rename_file(0, name)
    parameters.save_path = folder
    has_all = os.path.exists(os.path.join(folder, name))
    if has_all:
        parameters.flags |= libtorrent.torrent_flags.seed_mode
    handle = session.add_torrent(parameters)
    for peer in peers:
        handle.connect_peer((peer, port))
    has_said = has_all
    while len(os.listdir(done)) < count:
        if not has_said and handle.status().is_seeding:
            open(os.path.join(done, address), "w").close()
            has_said = True
        time.sleep(LOOKS_EVERY)


if sys.argv[1] == "make":
    make(*sys.argv[2:])
else:
    torrent, folder, name, port, address, done, count, *peers = sys.argv[2:]
    share(torrent, folder, name, int(port), address, done, int(count), peers)
