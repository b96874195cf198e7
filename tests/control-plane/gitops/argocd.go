package main

import (
	"context"
	"fmt"
	"time"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Argo CD gives a script one second.
const patience = time.Second

// What Argo CD lets a script use, but for a safe part of the library os.
var libraries = []struct {
	name string
	open lua.LGFunction
}{
	{lua.LoadLibName, lua.OpenPackage},
	{lua.BaseLibName, lua.OpenBase},
	{lua.TabLibName, lua.OpenTable},
}

func byScript(script string) judge {
	return func(object *unstructured.Unstructured) (verdict, error) {
		state := lua.NewState(lua.Options{SkipOpenLibs: true})
		defer state.Close()
		for _, library := range libraries {
			open := lua.P{Fn: state.NewFunction(library.open), NRet: 0, Protect: true}
			if err := state.CallByParam(open, lua.LString(library.name)); err != nil {
				return verdict{}, err
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		state.SetContext(ctx)
		state.SetGlobal("obj", toLua(state, object.Object))
		if err := state.DoString(script); err != nil {
			return verdict{}, err
		}
		answer, ok := state.Get(-1).(*lua.LTable)
		if !ok {
			return verdict{}, fmt.Errorf("the script returned a %s, not a table", state.Get(-1).Type())
		}
		return verdict{
			Status:  lua.LVAsString(answer.RawGetString("status")),
			Message: lua.LVAsString(answer.RawGetString("message")),
		}, nil
	}
}

// toLua makes of JSON what Argo CD makes of it: null is nil, so that the key is not there.
func toLua(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case bool:
		return lua.LBool(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	case string:
		return lua.LString(value)
	case []any:
		list := state.CreateTable(len(value), 0)
		for _, element := range value {
			list.Append(toLua(state, element))
		}
		return list
	case map[string]any:
		table := state.CreateTable(0, len(value))
		for key, element := range value {
			table.RawSetString(key, toLua(state, element))
		}
		return table
	default:
		return lua.LNil
	}
}
