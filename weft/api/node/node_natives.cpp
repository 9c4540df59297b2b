// tidy: allow-file foreign: the id, folder and environment of the process
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <vector>

#include "weft/api/application/application.h"
#include "weft/api/node/bindings.h"
#include "weft/base/assert.h"
#include "weft/js/describe.h"
#include "weft/js/isolate.h"

extern "C" {
extern char** environ;
// The build makes this table from weft/api/node/scripts.list; the last entry has no name.
struct WeftNodeScript {
    const char* name;
    const char* begin;
    const char* end;
};
extern const WeftNodeScript weft_node_scripts[];
}

namespace weft::api {
namespace {

// A text in the library, which V8 reads without copying it.
class LibraryText final : public v8::String::ExternalOneByteStringResource {
public:
    explicit LibraryText(const WeftNodeScript& script) : script_(script) {}
    const char* data() const override { return script_.begin; }
    std::size_t length() const override {
        return static_cast<std::size_t>(script_.end - script_.begin);
    }

private:
    const WeftNodeScript& script_;
};

const WeftNodeScript* script_named(std::string_view name) {
    for (const WeftNodeScript* script = weft_node_scripts; script->name; ++script)
        if (name == script->name) return script;
    return nullptr;
}

// Gives the script as a function of (native, realm, load), which returns the script's result.
void node_script(js::Call& call) {
    std::string name = call.text(0);
    const WeftNodeScript* script = script_named(name);
    WEFT_ASSERT(script, "the prelude asks for scripts that the list names");
    v8::Isolate* isolate = call.v8();
    // V8 takes over the resource and destroys it with the string.
    auto text = std::make_unique<LibraryText>(*script);
    v8::Local<v8::String> source;
    if (!v8::String::NewExternalOneByte(isolate, text.get()).ToLocal(&source)) return;
    static_cast<void>(text.release());
    v8::ScriptOrigin origin(isolate, call.string("weft:node/" + name));
    v8::ScriptCompiler::Source unit(source, origin);
    v8::Local<v8::String> parameters[] = {call.name("native"), call.name("realm"),
                                          call.name("load")};
    v8::Local<v8::Function> function;
    if (v8::ScriptCompiler::CompileFunction(call.context(), &unit, 3, parameters, 0, nullptr)
            .ToLocal(&function))
        call.give(function);
}

// Gives names and values alternately. A script of the command line sees the environment of the
// process, a served application only the values of its configuration.
void process_env(js::Call& call) {
    const ApplicationOptions& options = JsApplication::of(call.isolate()).options();
    std::vector<v8::Local<v8::Value>> texts;
    auto add = [&](std::string_view name, std::string_view value) {
        texts.push_back(call.string(name));
        texts.push_back(call.string(value));
    };
    for (char** entry = environ; options.is_script && *entry; ++entry) {
        std::string_view text = *entry;
        std::size_t equals = text.find('=');
        if (equals != std::string_view::npos) add(text.substr(0, equals), text.substr(equals + 1));
    }
    for (const auto& [name, value] : options.env) add(name, value);
    call.give(call.array(texts));
}

void process_arguments(js::Call& call) {
    const ApplicationOptions& options = JsApplication::of(call.isolate()).options();
    std::error_code error;
    std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
    std::vector<v8::Local<v8::Value>> texts = {call.string(program), call.string(options.entry)};
    for (const std::string& argument : options.arguments) texts.push_back(call.string(argument));
    call.give(call.array(texts));
}

void process_folder(js::Call& call) {
    std::error_code error;
    call.give(std::string_view(std::filesystem::current_path(error).string()));
}

void process_number(js::Call& call) { call.give(static_cast<double>(getpid())); }

// Gives false in a server, whose process an application may not end.
void process_exit(js::Call& call) {
    if (!JsApplication::of(call.isolate()).options().is_script) return call.give(false);
    std::fflush(nullptr);
    // Other threads are still running, so no destructors run.
    std::_Exit(static_cast<int>(call.integer(0)));
}

void process_is_script(js::Call& call) {
    call.give(JsApplication::of(call.isolate()).options().is_script);
}

// Translates the kernel's name of the machine to that of Node.js.
void process_architecture(js::Call& call) {
    utsname system{};
    std::string_view machine = uname(&system) == 0 ? system.machine : "";
    std::string_view name = machine;
    if (machine == "x86_64") name = "x64";
    if (machine == "aarch64") name = "arm64";
    v8::Local<v8::Value> names[] = {call.string(name), call.string(machine)};
    call.give(call.array(names));
}

void process_memory(js::Call& call) {
    v8::HeapStatistics heap;
    call.v8()->GetHeapStatistics(&heap);
    v8::Local<v8::Value> numbers[] = {
        v8::Number::New(call.v8(), static_cast<double>(heap.total_heap_size())),
        v8::Number::New(call.v8(), static_cast<double>(heap.used_heap_size())),
        v8::Number::New(call.v8(), static_cast<double>(heap.external_memory())),
    };
    call.give(call.array(numbers));
}

constexpr js::Binding kBindings[] = {
    js::bind<node_script>("nodeScript", "(name: string): Function"),
    js::bind<process_env>("processEnv", "(): string[]"),
    js::bind<process_arguments>("processArguments", "(): string[]"),
    js::bind<process_folder>("processFolder", "(): string"),
    js::bind<process_number>("processNumber", "(): number"),
    js::bind<process_exit>("processExit", "(status: number): boolean"),
    js::bind<process_is_script>("processIsScript", "(): boolean"),
    js::bind<process_architecture>("processArchitecture", "(): string[]"),
    js::bind<process_memory>("processMemory", "(): number[]"),
};

}  // namespace

std::span<const js::Binding> node_bindings() { return kBindings; }

}  // namespace weft::api
