# cc_grpc_library: the C++ service classes of a proto_library, by Debian's grpc_cpp_plugin.
# Bazel's native rules stop at messages.

def _service_sources_impl(ctx):
    proto = ctx.attr.proto[ProtoInfo]
    outs = []
    for src in proto.direct_sources:
        for ending in (".grpc.pb.cc", ".grpc.pb.h"):
            outs.append(ctx.actions.declare_file(src.basename[:-len(".proto")] + ending))
    args = ctx.actions.args()
    args.add("--plugin=protoc-gen-grpc=" + ctx.executable._plugin.path)
    args.add("--grpc_out=" + ctx.bin_dir.path)
    args.add_joined(
        "--descriptor_set_in",
        proto.transitive_descriptor_sets,
        join_with = ":",
    )
    args.add_all([src.short_path for src in proto.direct_sources])
    ctx.actions.run(
        executable = ctx.executable._protoc,
        arguments = [args],
        inputs = proto.transitive_descriptor_sets,
        tools = [ctx.executable._plugin],
        outputs = outs,
        mnemonic = "GrpcServices",
    )
    return [DefaultInfo(files = depset(outs))]

_service_sources = rule(
    implementation = _service_sources_impl,
    attrs = {
        "proto": attr.label(mandatory = True, providers = [ProtoInfo]),
        "_protoc": attr.label(
            default = "@com_google_protobuf//:protoc",
            executable = True,
            allow_single_file = True,
            cfg = "exec",
        ),
        "_plugin": attr.label(
            default = "@com_google_protobuf//:grpc_cpp_plugin",
            executable = True,
            allow_single_file = True,
            cfg = "exec",
        ),
    },
)

def _only_impl(ctx):
    return [DefaultInfo(files = depset([f for f in ctx.files.srcs if f.extension == ctx.attr.extension]))]

_only = rule(
    implementation = _only_impl,
    attrs = {
        "srcs": attr.label_list(mandatory = True),
        "extension": attr.string(mandatory = True),
    },
)

def cc_grpc_library(name, proto, deps, **kwargs):
    """Services of one .proto file.

    Args:
      name: of the cc_library.
      proto: the proto_library; its sources lie in this package.
      deps: the cc_proto_library of `proto`.
      **kwargs: further attributes of the cc_library.
    """
    _service_sources(name = name + "_sources", proto = proto)
    _only(name = name + "_hdrs", srcs = [":" + name + "_sources"], extension = "h")
    _only(name = name + "_srcs", srcs = [":" + name + "_sources"], extension = "cc")
    native.cc_library(
        name = name,
        srcs = [":" + name + "_srcs"],
        hdrs = [":" + name + "_hdrs"],
        deps = deps + ["//third_party:grpc"],
        **kwargs
    )
