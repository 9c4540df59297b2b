// weft-snapshot FOLDER FILE: runs the scripts that FOLDER/prelude.list names and writes the
// snapshot of what they leave to FILE.
#include <cstdio>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "weft/api/bindings.h"
#include "weft/js/snapshot.h"

namespace {

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: weft-snapshot FOLDER FILE\n";
        return 2;
    }
    std::string folder = argv[1];
    std::ifstream list(folder + "/prelude.list");
    std::vector<std::pair<std::string, std::string>> texts;
    for (std::string line; std::getline(list, line);) {
        if (line.empty() || line.front() == '#') continue;
        texts.emplace_back(line, read_file(folder + "/" + line));
        if (texts.back().second.empty()) {
            std::cerr << folder << "/" << line << ": cannot be read, or is empty\n";
            return 1;
        }
    }
    std::vector<weft::js::PreludeScript> scripts;
    for (const auto& [name, source] : texts) scripts.push_back({name, source});
    auto blob = weft::js::make_snapshot(weft::api::bindings(), scripts);
    if (!blob) {
        std::cerr << blob.error().message() << "\n";
        return 1;
    }
    std::ofstream out(argv[2], std::ios::binary);
    out.write(blob->data(), static_cast<std::streamsize>(blob->size()));
    out.close();
    return out ? 0 : 1;
}
