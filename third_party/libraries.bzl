# How programs link Debian's libraries: the shared ones, or with --config=static the archives.

_STATIC = "@burnish//third_party:static"

def libraries(names, folder = None):
    """Link flags of libraries of which Debian has both.

    Args:
      names: as after -l. Shared ones of which nothing is used are not loaded.
      folder: where they lie, if not where the linker looks.

    Returns:
      A value for `linkopts`.
    """
    flags = (["-L" + folder] if folder else []) + ["-l" + name for name in names]
    return select({
        _STATIC: ["-Wl,--push-state,-Bstatic"] + flags + ["-Wl,--pop-state"],
        "//conditions:default": ["-Wl,--push-state,--as-needed"] + flags + ["-Wl,--pop-state"],
    })
