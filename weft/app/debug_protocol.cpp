#include "weft/app/debug_protocol.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

namespace weft::app {
namespace {

// Names are separated by blanks.
struct Domain {
    std::string_view name;
    std::string_view commands;
    std::string_view events;
};

constexpr Domain kDomains[] = {
    {"Console", "clearMessages disable enable", "messageAdded"},
    {"Debugger",
     "continueToLocation disable enable evaluateOnCallFrame getPossibleBreakpoints getScriptSource "
     "getStackTrace getWasmBytecode pause pauseOnAsyncCall removeBreakpoint restartFrame resume "
     "searchInContent setAsyncCallStackDepth setBlackboxPatterns setBlackboxedRanges setBreakpoint "
     "setBreakpointByUrl setBreakpointOnFunctionCall setBreakpointsActive "
     "setInstrumentationBreakpoint setPauseOnExceptions setReturnValue setScriptSource "
     "setSkipAllPauses setVariableValue stepInto stepOut stepOver",
     "breakpointResolved paused resumed scriptFailedToParse scriptParsed"},
    {"HeapProfiler",
     "addInspectedHeapObject collectGarbage disable enable getHeapObjectId "
     "getObjectByHeapObjectId getSamplingProfile startSampling startTrackingHeapObjects "
     "stopSampling stopTrackingHeapObjects takeHeapSnapshot",
     "addHeapSnapshotChunk heapStatsUpdate lastSeenObjectId reportHeapSnapshotProgress "
     "resetProfiles"},
    {"Profiler",
     "disable enable getBestEffortCoverage setSamplingInterval start startPreciseCoverage stop "
     "stopPreciseCoverage takePreciseCoverage",
     "consoleProfileFinished consoleProfileStarted preciseCoverageDeltaUpdate"},
    {"Runtime",
     "addBinding awaitPromise callFunctionOn compileScript disable discardConsoleEntries enable "
     "evaluate getExceptionDetails getHeapUsage getIsolateId getProperties "
     "globalLexicalScopeNames queryObjects releaseObject releaseObjectGroup removeBinding "
     "runIfWaitingForDebugger runScript setAsyncCallStackDepth setCustomObjectFormatterEnabled "
     "setMaxCallStackSizeToCapture terminateExecution",
     "bindingCalled consoleAPICalled exceptionRevoked exceptionThrown executionContextCreated "
     "executionContextDestroyed executionContextsCleared inspectRequested"},
    {"Schema", "getDomains", ""},
};

nlohmann::json named(std::string_view names) {
    nlohmann::json list = nlohmann::json::array();
    while (!names.empty()) {
        std::string_view name = names.substr(0, names.find(' '));
        list.push_back({{"name", name}});
        names.remove_prefix(std::min(name.size() + 1, names.size()));
    }
    return list;
}

}  // namespace

std::string debug_protocol() {
    nlohmann::json domains = nlohmann::json::array();
    for (const Domain& domain : kDomains) {
        domains.push_back({{"domain", domain.name},
                           {"commands", named(domain.commands)},
                           {"events", named(domain.events)}});
    }
    nlohmann::json version = {{"major", "1"}, {"minor", "3"}};
    return nlohmann::json{{"version", version}, {"domains", domains}}.dump(2);
}

}  // namespace weft::app
