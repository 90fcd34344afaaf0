import { render } from "preact"; import "./style.css"; render(<p>hello</p>, document.getElementById("studio")!);
