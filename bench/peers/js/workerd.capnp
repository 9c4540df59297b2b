using Workerd = import "/workerd/workerd.capnp";

# Of bench-js: a template. The row file has the folder's own service, as workers have no files.
const config :Workerd.Config = (
  services = [
    @WORKERS@
    (name = "net", network = (allow = ["public", "private", "local"])),
    (name = "www", disk = (path = "@WWW@")),
  ],
  sockets = [@SOCKETS@],
);
