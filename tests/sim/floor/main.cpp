// weft-sim: the scenarios of this folder.
#include "tests/sim/floor/table.h"
#include "weft/sim/tool.h"

int main(int count, char** words) {
    return weft::sim::run_tool("weft-sim", weft::sim::all_scenarios(), {words, words + count});
}
