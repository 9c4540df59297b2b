// A service in a process of its own, as its users run it.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "weft/base/bytes.h"
#include "weft/fiber/os/process.h"
#include "weft/net/address.h"
#include "weft/net/socket.h"

namespace weft::stress {

inline constexpr std::chrono::seconds kPatience{20};

// The program writes its URL, "http://127.0.0.1:8080/ ..." as the first line of its output.
class Service {
public:
    static Result<Service> start(std::vector<std::string> arguments) {
        Process process = WEFT_TRY(
            Process::spawn({.arguments = std::move(arguments),
                            // A report of a stall would take memory for the symbols of the program.
                            .added_environment = {"WEFT_STALL_MS=0"},
                            .output = ChildStream::Pipe}));
        std::string line;
        std::array<std::byte, 256> space;
        while (line.find("/ ") == std::string::npos) {
            std::size_t count = WEFT_TRY(process.output().read(space, Deadline::after(kPatience)));
            if (count == 0) return Error(ErrorKind::Closed, "the service ended: " + line);
            line.append(as_text(std::span(space).first(count)));
        }
        std::string text = line.substr(7, line.find('/', 7) - 7);
        net::Address address = WEFT_TRY(net::Address::parse(text));
        return Service(std::move(process), address);
    }

    const net::Address& address() const { return address_; }
    Process& process() { return process_; }
    Result<ExitStatus> stop() {
        WEFT_TRY(process_.kill(SIGTERM));
        return process_.wait(Deadline::after(kPatience));
    }

private:
    Service(Process process, net::Address address)
        : process_(std::move(process)), address_(std::move(address)) {}

    Process process_;
    net::Address address_;
};

// A client with one connection. Responses have a Content-Length.
class KeptAlive {
public:
    explicit KeptAlive(net::Socket socket) : socket_(std::move(socket)) {}

    enum class Answer : std::uint8_t { Kept, Last, Lost };
    Answer ask(std::string_view request) {
        if (!socket_.write_all(as_bytes(request), Deadline::after(kPatience))) return Answer::Lost;
        std::string response;
        std::array<std::byte, 4096> space;
        for (;;) {
            std::size_t head = response.find("\r\n\r\n");
            std::size_t at = response.find("Content-Length: ");
            if (head != std::string::npos && at != std::string::npos) {
                std::size_t size = std::stoul(response.substr(at + 16));
                if (response.size() >= head + 4 + size) break;
            }
            auto count = socket_.read(space, Deadline::after(kPatience));
            if (!count || *count == 0) return Answer::Lost;
            response.append(as_text(std::span(space).first(*count)));
        }
        bool last = response.find("Connection: close") != std::string::npos;
        return last ? Answer::Last : Answer::Kept;
    }
    net::Socket& socket() { return socket_; }

private:
    net::Socket socket_;
};

}  // namespace weft::stress
