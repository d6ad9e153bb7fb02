"""One static library out of a target and all that it depends on."""

def _archives(dep):
    archives = []
    for linker_input in dep[CcInfo].linking_context.linker_inputs.to_list():
        for library in linker_input.libraries:
            archive = library.pic_static_library or library.static_library
            if archive:
                archives.append(archive)
    return archives

def _static_library_impl(ctx):
    archives = _archives(ctx.attr.dep)
    out = ctx.actions.declare_file(ctx.attr.name)

    # One object, in which only the exported names are left: what is inside must not clash with names
    # of the program or of another library. GNU ld, because lld cannot resolve COMDAT groups in an
    # object: a group whose name is local could be dropped for the program's own.
    ctx.actions.run_shell(
        inputs = archives,
        outputs = [out],
        command = """set -euo pipefail
object=$1.o out=$1 symbols=$2
shift 2
ld.bfd -r --force-group-allocation --whole-archive "$@" -o "$object"
objcopy --wildcard --keep-global-symbol="$symbols" "$object"
rm -f "$out"
ar rcsD "$out" "$object"
""",
        arguments = [out.path, ctx.attr.symbols] + [archive.path for archive in archives],
        mnemonic = "StaticLibrary",
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset([out]))]

static_library = rule(
    implementation = _static_library_impl,
    attrs = {
        "dep": attr.label(mandatory = True, providers = [CcInfo]),
        "symbols": attr.string(mandatory = True, doc = "What stays visible: a pattern of objcopy's."),
    },
)
