// weft-snapshot FILE: runs the scripts of the prelude and writes a snapshot of the resulting
// isolate to FILE.
#include <fstream>
#include <iostream>

#include "weft/api/bindings.h"
#include "weft/js/snapshot.h"

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: weft-snapshot FILE\n";
        return 2;
    }
    auto blob = weft::js::make_snapshot(weft::api::bindings(), weft::api::prelude());
    if (!blob) {
        std::cerr << blob.error().message() << "\n";
        return 1;
    }
    std::ofstream out(argv[1], std::ios::binary);
    out.write(blob->data(), static_cast<std::streamsize>(blob->size()));
    out.close();
    return out ? 0 : 1;
}
