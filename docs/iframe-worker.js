// Browsers refuse a worker that is a file. In a page that was opened as a file, a hidden frame takes its place, so
// that the site's search works without a server. (mkdocs-material would fetch such a script from unpkg.com.)
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.answer = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      document.body.append(this.frame);
      const inside = this.frame.contentDocument;
      this.ready = new Promise((done) => (this.frame.begun = done));
      inside.open();
      inside.write(
        "<script>postMessage = (data) => frameElement.answer(data)</" + "script>" +
          `<script src="${url}" onload="frameElement.begun()"></` + "script>",
      );
      inside.close();
    }

    postMessage(data) {
      const send = () => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }));
      this.ready.then(send);
    }

    terminate() {
      this.frame.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
