export default {
  fetch(request) {
    let answer = new URL(request.url).pathname.length;
    answer *= 7;
    console.log("the answer", { answer });
    return new Response(String(answer));
  },
};
